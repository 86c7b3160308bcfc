import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { tagOf } from "../http/response.ts";

/** Content coding (RFC 9110 section 8.4.1). */
export type Coding = "br" | "gzip" | "identity";

/** A file of the console in all its content codings. */
export interface BuiltFile {
  readonly mediaType: string;
  readonly etag: string;
  readonly bodies: Readonly<Partial<Record<Coding, Buffer>>> & { readonly identity: Buffer };
  /** Whether the file name contains a hash of the content. */
  readonly hashed: boolean;
}

/** Files by path relative to the console: `index.html`, `assets/…`. */
export type BuiltFiles = ReadonlyMap<string, BuiltFile>;

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

/** Reads the built console into memory: no request reaches the file system. @returns undefined: no build */
export function readBuiltFiles(folder: string): BuiltFiles | undefined {
  if (!existsSync(path.join(folder, "index.html"))) return undefined;
  const files = new Map<string, BuiltFile>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const mediaType = MEDIA_TYPES[path.extname(entry.name)];
    if (!entry.isFile() || mediaType === undefined) continue;
    const file = path.join(entry.parentPath, entry.name);
    const name = path.relative(folder, file).split(path.sep).join("/");
    const identity = readFileSync(file);
    const bodies = { identity, ...packed("br", `${file}.br`), ...packed("gzip", `${file}.gz`) };
    files.set(name, { mediaType, etag: tagOf(identity), bodies, hashed: name.startsWith("assets/") });
  }
  return files;
}

/** Returns the page with more HTML in its head. */
export function withInHead(page: BuiltFile, html: string): BuiltFile {
  const identity = Buffer.from(page.bodies.identity.toString("utf8").replace("</head>", `${html}</head>`));
  const bodies = { identity, br: brotliCompressSync(identity), gzip: gzipSync(identity) };
  return { ...page, etag: tagOf(identity), bodies };
}

function packed(coding: Coding, file: string): Partial<Record<Coding, Buffer>> {
  return existsSync(file) ? { [coding]: readFileSync(file) } : {};
}
