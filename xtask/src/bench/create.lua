-- POST of documents with three references, each new: wrk … -- TOKEN BODIES_FILE PATH START
-- BODIES_FILE holds templates with %s for the date; START keeps rounds from meeting.
local threads = 0
function setup(thread)
  thread:set("number", threads)
  threads = threads + 1
end

function date_of(n)
  return os.date("!%Y-%m-%d", -2208988800 + n * 86400)
end

function init(args)
  local bodies = {}
  for line in io.lines(args[2]) do bodies[#bodies + 1] = line end
  local headers = {
    ["Authorization"] = "Bearer " .. args[1],
    ["Content-Type"] = "application/json",
  }
  local n = 0
  local start = tonumber(args[4])
  request = function()
    local body = bodies[n % #bodies + 1]
    local day = start + 2 * math.floor(n / #bodies) + number
    n = n + 1
    return wrk.format("POST", args[3], headers, string.format(body, date_of(day)))
  end
end

function done(summary)
  io.write(string.format("errors %d\n", summary.errors.status))
end
