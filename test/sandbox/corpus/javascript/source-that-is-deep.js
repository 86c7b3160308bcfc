console.log("started");
for (const [open, close] of [["(", ")"], ["[", "]"], ["{a:", "}"], ["!", ""], ["(a=>", ")"]]) {
  const source = `export default ${open.repeat(200_000)}1${close.repeat(200_000)};`;
  await import(URL.createObjectURL(new Blob([source], { type: "application/typescript" })));
}
