import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { tagOf } from "../http/entity-tag.ts";

/** How a body is packed for its way (RFC 9110 section 8.4.1). */
export type Coding = "br" | "gzip" | "identity";

/** A file of the console in all the forms that it is served in. */
export interface BuiltFile {
  readonly mediaType: string;
  /** Names its content. */
  readonly etag: string;
  readonly bodies: Readonly<Partial<Record<Coding, Buffer>>> & { readonly identity: Buffer };
  /** Whether its name changes with its content. */
  readonly hashed: boolean;
}

/** Every file by its path below the console: `index.html`, `assets/…`. */
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

/**
 * Reads the built console whole: what is not in it then cannot be asked for later, whatever a path says.
 * @returns undefined when it is not built
 */
export function readBuiltFiles(folder: string): BuiltFiles | undefined {
  if (!existsSync(path.join(folder, "index.html"))) return undefined;
  const files = new Map<string, BuiltFile>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const mediaType = MEDIA_TYPES[path.extname(entry.name)];
    if (!entry.isFile() || mediaType === undefined) continue;
    const place = path.join(entry.parentPath, entry.name);
    const name = path.relative(folder, place).split(path.sep).join("/");
    const identity = readFileSync(place);
    const bodies = { identity, ...packed("br", `${place}.br`), ...packed("gzip", `${place}.gz`) };
    files.set(name, { mediaType, etag: tagOf(identity), bodies, hashed: name.startsWith("assets/") });
  }
  return files;
}

/** The same page with more in its head. */
export function withInHead(page: BuiltFile, html: string): BuiltFile {
  const identity = Buffer.from(page.bodies.identity.toString("utf8").replace("</head>", `${html}</head>`));
  const bodies = { identity, br: brotliCompressSync(identity), gzip: gzipSync(identity) };
  return { ...page, etag: tagOf(identity), bodies };
}

function packed(coding: Coding, place: string): Partial<Record<Coding, Buffer>> {
  return existsSync(place) ? { [coding]: readFileSync(place) } : {};
}
