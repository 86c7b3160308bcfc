for (let n = 0; ; n++) console.error(`line ${n} ${"x".repeat(2_000)}`);
