import { fileURLToPath } from "node:url";
import type { MonthArchive } from "../app/operations/archive/month-archive.ts";
import { FileStore, type ObjectStore } from "./object-store.ts";

export interface ArchiveSettings {
  readonly ARCHIVE_URL?: string | undefined;
  readonly AWS_ACCESS_KEY_ID?: string | undefined;
  readonly AWS_SECRET_ACCESS_KEY?: string | undefined;
  readonly AWS_SESSION_TOKEN?: string | undefined;
  readonly AWS_REGION: string;
  readonly AWS_ENDPOINT_URL?: string | undefined;
}

/** Opens the archive of ARCHIVE_URL, and loads its code; undefined: it is not set. Connects on first use. */
export async function openArchive(settings: ArchiveSettings): Promise<MonthArchive | undefined> {
  if (settings.ARCHIVE_URL === undefined) return undefined;
  const { Archive } = await import("./archive.ts");
  return new Archive(await openStore(new URL(settings.ARCHIVE_URL), settings));
}

async function openStore(url: URL, settings: ArchiveSettings): Promise<ObjectStore> {
  if (url.protocol === "file:") return new FileStore(fileURLToPath(url));
  const { S3Store } = await import("./s3-store.ts");
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
