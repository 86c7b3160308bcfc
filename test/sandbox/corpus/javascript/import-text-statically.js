import secret from "file://{{file}}" with { type: "text" };
console.log(`ESCAPED ${secret}`);
