-- 60 % read, 20 % create, 15 % update, 5 % delete: wrk … -- TOKEN BODIES_FILE PATH START IDS_FILE
local threads = 0
function setup(thread)
  thread:set("number", threads)
  threads = threads + 1
end

function date_of(n)
  return os.date("!%Y-%m-%d", -2208988800 + n * 86400)
end

local created = {}

function init(args)
  local bodies, ids = {}, {}
  for line in io.lines(args[2]) do bodies[#bodies + 1] = line end
  for line in io.lines(args[5]) do ids[#ids + 1] = line end
  math.randomseed(tonumber(args[4]) + number)
  local headers = {
    ["Authorization"] = "Bearer " .. args[1],
    ["Content-Type"] = "application/json",
  }
  local start, n, updates = tonumber(args[4]), 0, 0
  local function body_of(at)
    local day = start + 2 * math.floor(at / #bodies) + number
    return string.format(bodies[at % #bodies + 1], date_of(day))
  end
  request = function()
    local dice = math.random(100)
    if dice <= 60 or n < 100 and dice > 80 then
      return wrk.format("GET", args[3] .. "/" .. ids[math.random(#ids)], headers)
    elseif dice <= 80 then
      n = n + 1
      return wrk.format("POST", args[3], headers, body_of(n - 1))
    elseif dice <= 95 or #created == 0 then
      updates = updates + 1
      local body = body_of(math.random(math.max(1, n - 200)) - 1)
      body = body:sub(1, -2) .. ',"attendanceEventReason":"round ' .. updates .. '"}'
      return wrk.format("POST", args[3], headers, body)
    else
      local at = math.random(#created)
      local path = created[at]
      created[at] = created[#created]
      created[#created] = nil
      return wrk.format("DELETE", path, headers)
    end
  end
  response = function(status, found)
    if status == 201 then
      local where = found["location"] or found["Location"]
      if where then created[#created + 1] = where:match("^https?://[^/]+(/.*)$") end
    end
  end
end
