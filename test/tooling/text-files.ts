import { readdir } from "node:fs/promises";
import path from "node:path";

import { ROOT } from "./command.ts";

const TEXT =
  /\.(?:ts|tsx|mjs|js|json|jsonc|yaml|yml|proto|md|html|css|sql|sh|py|toml)$|(?:^|\/)\.[a-z]+$|^LICENSE$/;
const SKIPPED =
  /^(?:node_modules|gen|dist|test\/httpjson\/gen|\.git|\.toolgate|package-lock\.json|proto\/(?:google|grpc|buf))(?:\/|$)/;

/** The project's own text files below a folder. Git is not used, so it works in an unpacked archive too. */
export async function textFiles(folder = ""): Promise<string[]> {
  const entries = await readdir(path.join(ROOT, folder), { withFileTypes: true });
  const below = await Promise.all(
    entries.map(async (entry) => {
      const name = path.posix.join(folder, entry.name);
      if (SKIPPED.test(name)) return [];
      if (entry.isDirectory()) return textFiles(name);
      return entry.isFile() && TEXT.test(name) ? [name] : [];
    }),
  );
  return below.flat().sort();
}
