-- Work for luajit, as bench/sdk_ab runs it: texts, hash tables, patterns, sorting, numbers. luajit work.lua TURNS
local check = 0
for turn = 1, tonumber(arg[1]) do
  local counts = {}
  for i = 0, 19999 do
    local word = "w" .. ((i * 7919 + turn) % 5003)
    counts[word] = (counts[word] or 0) + 1
  end
  local read = {}
  for word, count in pairs(counts) do
    if word:match("^w[0-9]*[13579]$") then read[#read + 1] = word .. "=" .. count end
  end
  table.sort(read)
  local x = 1
  for i = 0, 299999 do x = math.sqrt(x + i) end
  check = check + #read + math.floor(x) + #table.concat(read, ",")
end
print(check)
