<?php
// Work for php, as bench/sdk_ab runs it: texts, hash tables, regular expressions, sorting, numbers. php work.php TURNS
$check = 0;
for ($turn = 0; $turn < (int)$argv[1]; $turn++) {
    $counts = [];
    for ($i = 0; $i < 20000; $i++) {
        $word = "w" . (($i * 7919 + $turn) % 5003);
        $counts[$word] = ($counts[$word] ?? 0) + 1;
    }
    $read = array_filter(json_decode(json_encode($counts), true), fn($word) => preg_match('/^w[0-9]*[13579]$/', $word), ARRAY_FILTER_USE_KEY);
    ksort($read);
    $x = 1.0;
    for ($i = 0; $i < 300000; $i++) $x = sqrt($x + $i);
    $check += count($read) + (int)$x;
}
echo $check, "\n";
