-- GET by id: wrk … -- TOKEN IDS_FILE PATH_PREFIX
function init(args)
  local ids = {}
  for line in io.lines(args[2]) do ids[#ids + 1] = line end
  math.randomseed(os.time() + tonumber(tostring({}):sub(8), 16) % 65536)
  local headers = { ["Authorization"] = "Bearer " .. args[1] }
  request = function()
    return wrk.format("GET", args[3] .. ids[math.random(#ids)], headers)
  end
end
