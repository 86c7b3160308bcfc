const all = [];
for (;;) all.push({ a: [all.length, "x", {}] });
