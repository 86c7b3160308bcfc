import path from "node:path";
import type { Schema } from "@bufbuild/protoplugin";
import { runtime } from "./output-file.ts";

/** Exports of a `<name>_http.ts` for the index of its folder. */
export interface Exports {
  /** File name without its ending, e.g. `toolgate/v1/tool_service`. */
  readonly file: string;
  /** Names of its route tables. */
  readonly routes: readonly string[];
  readonly hasErrors: boolean;
}

/** Emits `index_http.ts` of each folder with routes: all its route tables and error bodies. */
export function emitIndexes(schema: Schema, files: readonly Exports[]): void {
  const folders = new Set(
    files.filter(({ routes }) => routes.length > 0).map(({ file }) => path.posix.dirname(file)),
  );
  for (const folder of folders) {
    const f = schema.generateFile(path.posix.join(folder, "index_http.ts"));
    const own = files.filter(({ file }) => path.posix.dirname(file) === folder);
    f.print(f.jsDoc("The HTTP routes of all services of this folder."));
    f.print(f.export("const", "routes"), ": readonly ", runtime(f, "ServiceRoutes", "route", true), "[] = [");
    for (const { file, routes } of own) {
      for (const name of routes) f.print("  ", f.import(name, `./${file}_http.ts`), ",");
    }
    f.print("];");
    f.print();
    f.print(f.jsDoc("Messages of this folder that are error bodies."));
    f.print(
      f.export("const", "errorBindings"),
      ": readonly ",
      runtime(f, "ErrorBinding", "error-body", true),
      "[] = [",
    );
    for (const { file } of own.filter(({ hasErrors }) => hasErrors)) {
      f.print("  ...", f.import("errorBindings", `./${file}_http.ts`), ",");
    }
    f.print("];");
  }
}
