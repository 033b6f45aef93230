// Work for node, as bench/sdk_ab runs it: texts, hash tables, regular expressions, sorting, numbers. node work.js TURNS
const turns = Number(process.argv[2]);
let check = 0;
for (let turn = 0; turn < turns; turn++) {
  const counts = new Map();
  for (let i = 0; i < 20000; i++) {
    const word = "w" + ((i * 7919 + turn) % 5003);
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const document = JSON.stringify([...counts].map(([word, count]) => ({ word, count, tags: [word, String(count)] })));
  const read = JSON.parse(document).filter((entry) => /^w[0-9]*[13579]$/.test(entry.word));
  read.sort((a, b) => b.count - a.count || (a.word < b.word ? -1 : 1));
  let x = 1;
  for (let i = 0; i < 300000; i++) x = Math.sqrt(x + i);
  check += read.length + Math.floor(x);
}
console.log(check);
