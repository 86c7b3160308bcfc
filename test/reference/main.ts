// npm run generate: writes the generated parts of the pages.
// --check writes nothing, names the pages that differ and exits with 1.
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { ROOT } from "../tooling/command.ts";
import { compatibilityPage } from "./compatibility.ts";
import { dialectsPage } from "./dialects.ts";
import { errorsPage } from "./errors.ts";
import { metricsPage } from "./metrics.ts";
import { settingsPage } from "./settings.ts";
import { toolsPage } from "./tools.ts";

/** Each page with the function that fills its marked parts. */
const PAGES: Readonly<Record<string, (page: string) => string>> = {
  "docs/reference/compatibility.md": compatibilityPage,
  "docs/reference/configuration.md": settingsPage,
  "docs/reference/dialects.md": dialectsPage,
  "docs/reference/errors.md": errorsPage,
  "docs/reference/metrics.md": metricsPage,
  "docs/reference/tools.md": toolsPage,
};

const isCheck = process.argv.includes("--check");
for (const [name, fill] of Object.entries(PAGES)) {
  const file = path.join(ROOT, name);
  const page = await readFile(file, "utf8");
  const filled = fill(page);
  if (filled === page) continue;
  if (!isCheck) {
    await writeFile(file, filled);
    continue;
  }
  process.stdout.write(`${name}: is not what the definitions say\n`);
  process.exitCode = 1;
}
