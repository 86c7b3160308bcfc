const ops = () => Deno[Deno.internal].core.ops;
await attempt("Deno.core", () => Deno.core?.ops?.op_read_file_text_sync?.("{{file}}"));
await attempt(
  "ops that read",
  () => ops().op_fs_read_file_text_sync?.("{{file}}") ?? ops().op_fs_read_file_sync?.("{{file}}"),
);
await attempt("ops that open", () => ops().op_fs_open_sync?.("{{file}}", { read: true }));
await attempt("ops that spawn", () => ops().op_spawn_child?.({ cmd: "id", args: [], env: [], clearEnv: false }, ""));
await attempt("ops of the environment", () => ops().op_env?.() ?? ops().op_get_env_no_permission_check?.("PATH"));
await attempt("ops of permissions", () => ops().op_request_permission?.({ name: "read" })?.state === "granted");
const nothing = Array.from({ length: 9 }, () => () => {});
await attempt("ops of native addons", () => ops().op_napi_open("/usr/lib/x86_64-linux-gnu/libc.so.6", globalThis, ...nothing) ?? "opened");
await attempt("ops that patch a program", () => ops().op_desktop_apply_patch(new Uint8Array(8), "{{dir}}/patched", "{{dir}}/patched") ?? "patched");
await attempt("ops that report an error", () => void ops().op_desktop_send_error_report("http://127.0.0.1:{{port}}/", "{}"));
await attempt("ops of secrets", () => ops().op_deploy_token_get?.());
await attempt("the graphics card", async () => (await navigator.gpu?.requestAdapter())?.info?.vendor);
await attempt("process.binding fs", () => process.binding("fs").open?.("{{file}}", 0, 0));
await attempt(
  "process.binding spawn_sync",
  () => process.binding("spawn_sync").spawn?.({ file: "/bin/echo", args: ["echo"] })?.status === 0,
);
await attempt("process._linkedBinding", () => process._linkedBinding("fs").open?.("{{file}}", 0, 0));
await attempt("internals by import", async () => Object.keys(await import("ext:core/ops")).join());
await attempt("internals of fs by import", async () => Object.keys(await import("ext:deno_fs/30_fs.js")).join());
await attempt("__bootstrap", () => typeof globalThis.__bootstrap !== "undefined" && "present");
await attempt("node:wasi", async () => {
  const { WASI } = await import("node:wasi");
  return new WASI({ version: "preview1", preopens: { "/": "/" } }) && "opened";
});
await attempt("node:vm", async () => (await import("node:vm")).runInNewContext("Deno")?.readTextFileSync?.("{{file}}"));
await attempt("a realm of its own", () => new ShadowRealm().evaluate("Deno.readTextFileSync('{{file}}')"));
