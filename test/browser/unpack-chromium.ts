// Unpacks Chromium into TMPDIR; run by test/browser/chromium.ts.
import path from "node:path";
import { fileURLToPath } from "node:url";
import { inflate } from "@sparticuz/chromium";

const packed = path.resolve(
  path.dirname(fileURLToPath(import.meta.resolve("@sparticuz/chromium"))),
  "../bin",
);
await Promise.all(
  ["chromium.br", "fonts.tar.br", "swiftshader.tar.br", "al2023.tar.br"].map((file) =>
    inflate(path.join(packed, file)),
  ),
);
