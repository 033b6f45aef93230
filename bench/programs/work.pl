# Work for perl, as bench/sdk_ab runs it: texts, hash tables, regular expressions, sorting, numbers. perl work.pl TURNS
use strict;
use warnings;
my $check = 0;
for my $turn (0 .. $ARGV[0] - 1) {
    my %counts;
    $counts{"w" . (($_ * 7919 + $turn) % 5003)}++ for 0 .. 19_999;
    my $lines = join "\n", map { "$_=$counts{$_}" } keys %counts;
    my @read = sort { $a->[0] cmp $b->[0] } grep { $_->[0] =~ /^w[0-9]*[13579]$/ } map { [split /=/] } split /\n/, $lines;
    my $x = 1;
    $x = sqrt($x + $_) for 0 .. 99_999;
    $check += @read + int $x;
}
print "$check\n";
