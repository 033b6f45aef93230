# Work for ruby, as bench/sdk_ab runs it: texts, hash tables, regular expressions, sorting, numbers. ruby work.rb TURNS
check = 0
Integer(ARGV[0]).times do |turn|
  counts = Hash.new(0)
  20_000.times { |i| counts["w#{(i * 7919 + turn) % 5003}"] += 1 }
  lines = counts.map { |word, count| "#{word}=#{count}" }.join("\n")
  read = lines.split("\n").map { |line| line.split("=") }.select { |word, _| word =~ /^w[0-9]*[13579]$/ }
  read.sort_by! { |word, count| [-Integer(count), word] }
  x = 1.0
  100_000.times { |i| x = Math.sqrt(x + i) }
  check += read.size + x.floor
end
puts check
