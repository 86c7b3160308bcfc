// npm run generate: writes the generated parts of docs/reference/tools.md.
import { readFile, writeFile } from "node:fs/promises";
import { toolsPage } from "./tools/tools-page.ts";

const PAGE = new URL("../docs/reference/tools.md", import.meta.url);

await writeFile(PAGE, toolsPage(await readFile(PAGE, "utf8")));
