const { DatabaseSync, backup } = await import("node:sqlite");
const memory = new DatabaseSync(":memory:");
await attempt(
  "a database in a file",
  () => (new DatabaseSync("{{dir}}/made.sqlite").exec("CREATE TABLE t (a)"), "made"),
);
await attempt(
  "a database by URL",
  () => (new DatabaseSync("file:{{dir}}/made-2.sqlite?mode=rwc").exec("CREATE TABLE t (a)"), "made"),
);
await attempt("ATTACH", () => (memory.exec("ATTACH '{{dir}}/attached.sqlite' AS a; CREATE TABLE a.t (x)"), "attached"));
await attempt(
  "ATTACH by URL",
  () => (memory.exec("ATTACH 'file:{{dir}}/attached-2.sqlite' AS b; CREATE TABLE b.t (x)"), "attached"),
);
await attempt(
  "VACUUM INTO",
  () => (memory.exec("CREATE TABLE v (a); VACUUM INTO '{{dir}}/vacuumed.sqlite'"), "written"),
);
await attempt("backup", async () => (await backup(memory, "{{dir}}/backup.sqlite"), "written"));
await attempt("readfile", () => memory.prepare("SELECT readfile('{{file}}') AS text").get().text);
await attempt("writefile", () => memory.prepare("SELECT writefile('{{dir}}/by-sql', 'x') AS n").get().n);
await attempt("load_extension", () => memory.prepare("SELECT load_extension('libc.so.6') AS x").get() && "loaded");
await attempt(
  "loadExtension",
  () => (new DatabaseSync(":memory:", { allowExtension: true }).loadExtension("libc.so.6"), "loaded"),
);
await attempt(
  "a temporary directory",
  () => (memory.exec("PRAGMA temp_store_directory = '{{dir}}'; PRAGMA temp_store = 1"), undefined),
);
