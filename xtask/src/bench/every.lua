-- 60 % read, 20 % create, 15 % update, 5 % delete over every resource:
-- wrk … -- TOKEN EVERY_FILE PATHS_FILE START
-- EVERY_FILE is what the example every_resource writes; PATHS_FILE has paths of stored documents.
local threads = 0
function setup(thread)
  thread:set("number", threads)
  threads = threads + 1
end

local fresh_of = {
  text = function(n) return "m" .. n end,
  number = function(n, at) return tostring(1000000000 + at * 1000000 + n) end,
  date = function(n) return os.date("!%Y-%m-%d", -2208988800 + n * 86400) end,
}

local created = {}

function init(args)
  local makers, changers, paths = {}, {}, {}
  for line in io.lines(args[2]) do
    local path, form, body, changed = line:match("^(.-)\t(.-)\t(.-)\t(.*)$")
    if form ~= "-" then
      local maker = {
        path = path, fresh = fresh_of[form], at = #makers + 1,
        body = body, changed = changed, n = 0,
      }
      makers[#makers + 1] = maker
      if changed ~= "-" then changers[#changers + 1] = maker end
    end
  end
  for line in io.lines(args[3]) do paths[#paths + 1] = line end
  local start, updates = tonumber(args[4]), 0
  math.randomseed(start + number)
  local headers = {
    ["Authorization"] = "Bearer " .. args[1],
    ["Content-Type"] = "application/json",
  }
  local function fill(template, maker, n)
    -- Subclasses of one base must not meet either.
    local value = maker.fresh(start + 2 * n + number, maker.at)
    return (template:gsub("\\([12])", { ["1"] = value, ["2"] = "round " .. updates }))
  end
  request = function()
    local dice = math.random(100)
    if dice <= 60 then
      return wrk.format("GET", paths[math.random(#paths)], headers)
    elseif dice <= 80 or dice > 95 and #created == 0 then
      local maker = makers[math.random(#makers)]
      maker.n = maker.n + 1
      return wrk.format("POST", maker.path, headers, fill(maker.body, maker, maker.n))
    elseif dice <= 95 then
      updates = updates + 1
      local maker = changers[math.random(#changers)]
      local n = math.max(1, maker.n - math.random(0, 5))
      return wrk.format("POST", maker.path, headers, fill(maker.changed, maker, n))
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
