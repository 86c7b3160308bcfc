// npm run generate: writes the generated parts of docs/reference/tools.md and metrics.md.
import { readFile, writeFile } from "node:fs/promises";
import { metricsPage } from "./metrics/metrics-page.ts";
import { toolsPage } from "./tools/tools-page.ts";

async function update(name: string, written: (page: string) => string): Promise<void> {
  const page = new URL(`../docs/reference/${name}`, import.meta.url);
  await writeFile(page, written(await readFile(page, "utf8")));
}

await update("tools.md", toolsPage);
await update("metrics.md", metricsPage);
