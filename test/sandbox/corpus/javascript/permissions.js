for (const name of ["read", "write", "net", "env", "run", "sys", "ffi", "import"]) {
  await attempt(`query ${name}`, async () => (await Deno.permissions.query({ name })).state === "granted");
  await attempt(`request ${name}`, async () => (await Deno.permissions.request({ name })).state === "granted");
}
await attempt(
  "request of one path",
  () => Deno.permissions.requestSync({ name: "read", path: "{{file}}" }).state === "granted",
);
await attempt(
  "request of one host",
  () => Deno.permissions.requestSync({ name: "net", host: "127.0.0.1:{{port}}" }).state === "granted",
);
await attempt("read after requests", () => Deno.readTextFileSync("{{file}}"));
await attempt("confirm", () => confirm("Allow?"));
await attempt("prompt", () => prompt("Allow?"));
await attempt("process.permission", () => process.permission?.has?.("fs.read"));
