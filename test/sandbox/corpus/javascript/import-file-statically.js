import secret from "file://{{file}}" with { type: "json" };
console.log(`ESCAPED ${JSON.stringify(secret)}`);
