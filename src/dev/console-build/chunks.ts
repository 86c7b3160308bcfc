import path from "node:path";
import type { Rolldown } from "vite";
import { SOURCES } from "./places.ts";

const START = path.join(SOURCES, "start.tsx");

/** What every visit loads is one file, and so is what most pages share: browsers fetch six at a time. */
export function chunkGroups(): Rolldown.CodeSplittingGroup[] {
  let first: Set<string> | undefined;
  return [
    // The entry needs it before all others.
    { name: "import", test: /^\0vite\/preload-helper/ },
    {
      debugName: "first",
      name: (id, context) => {
        first ??= neededBy(START, (module) => context.getModuleInfo(module)?.importedIds ?? []);
        return first.has(id) ? "first" : null;
      },
    },
    { name: "shared", minShareCount: 6 },
  ];
}

function neededBy(module: string, imports: (module: string) => readonly string[]): Set<string> {
  const all = new Set([module]);
  for (const one of all) for (const imported of imports(one)) all.add(imported);
  return all;
}
