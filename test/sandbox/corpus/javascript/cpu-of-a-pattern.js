console.log("begun");
/^(([a-z])+.)+[A-Z]([a-z])+$/.test("a".repeat(60));
