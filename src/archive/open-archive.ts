import { fileURLToPath } from "node:url";
import type { MonthArchive } from "../app/operations/archive/month-archive.ts";
import { Archive } from "./archive.ts";
import { FileStore } from "./file-store.ts";
import type { ObjectStore } from "./object-store.ts";
import { S3Store } from "./s3-store.ts";

/** Settings of the archive. */
export interface ArchiveSettings {
  readonly ARCHIVE_URL?: string | undefined;
  readonly AWS_ACCESS_KEY_ID?: string | undefined;
  readonly AWS_SECRET_ACCESS_KEY?: string | undefined;
  readonly AWS_SESSION_TOKEN?: string | undefined;
  readonly AWS_REGION: string;
  readonly AWS_ENDPOINT_URL?: string | undefined;
}

/** Opens the archive of ARCHIVE_URL; undefined: it is not set. Connects on first use. */
export function openArchive(settings: ArchiveSettings): MonthArchive | undefined {
  const store = storeOf(settings);
  return store && new Archive(store);
}

function storeOf(settings: ArchiveSettings): ObjectStore | undefined {
  if (settings.ARCHIVE_URL === undefined) return undefined;
  const url = new URL(settings.ARCHIVE_URL);
  if (url.protocol === "file:") return new FileStore(fileURLToPath(url));
  const folder = decodeURIComponent(url.pathname).replace(/^\/|\/$/g, "");
  return new S3Store({
    bucket: url.host,
    prefix: folder === "" ? "" : `${folder}/`,
    accessKeyId: settings.AWS_ACCESS_KEY_ID ?? "",
    secretAccessKey: settings.AWS_SECRET_ACCESS_KEY ?? "",
    sessionToken: settings.AWS_SESSION_TOKEN,
    region: settings.AWS_REGION,
    endpoint: settings.AWS_ENDPOINT_URL,
  });
}
