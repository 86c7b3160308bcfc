const all = [];
for (let n = 0; ; n++) all.push(`${n}`.padStart(1 << 22, "é").toUpperCase());
