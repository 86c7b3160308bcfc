import { existsSync } from "node:fs";
import path from "node:path";
import type { ServeConfig } from "../config/config.ts";
import type { Logger } from "../log.ts";
import { readBuiltFiles } from "../transport/console-server/built-files.ts";
import { isLoopback } from "../transport/console-server/cookie.ts";
import { ConsoleFiles } from "../transport/console-server/console-files.ts";
import type { ConsoleOrigin } from "../transport/console-server/console-origin.ts";
import { DevWallet } from "../transport/console-server/dev-wallet.ts";

/** Where `npm run build:console` puts the console. */
const BUILT = path.resolve(import.meta.dirname, "../../dist/console");

/** Whether there is a console to serve. */
export function isConsoleBuilt(): boolean {
  return existsSync(path.join(BUILT, "index.html"));
}

/** What the console's page is served with. */
export interface ConsoleFilesSettings {
  readonly config: Pick<ServeConfig, "HOST" | "PUBLIC_URL" | "CONSOLE_URL">;
  readonly origin: ConsoleOrigin;
  /** Secret key of the development setup's wallet; undefined in production. */
  readonly devWallet: Uint8Array | undefined;
  readonly log: Logger;
  /** Where the built console is. */
  readonly folder?: string;
}

/** Reads the built console, or says once that there is none: everything else works without it. */
export function openConsoleFiles(settings: ConsoleFilesSettings): ConsoleFiles {
  const { config, origin: place, devWallet, log, folder = BUILT } = settings;
  const files = readBuiltFiles(folder);
  if (!files)
    log.warn("the console is not built, and /console/ says so: run npm run build:console, then start again");
  return new ConsoleFiles({
    files,
    https: () => place.url.protocol === "https:",
    devWallet: devWallet && isLocalOnly(config) ? new DevWallet(devWallet, place) : undefined,
  });
}

/** Whether nobody comes from elsewhere, by an address or through a tunnel: whoever does could take the development wallet's key. */
function isLocalOnly({ HOST, PUBLIC_URL, CONSOLE_URL }: ConsoleFilesSettings["config"]): boolean {
  const named = [PUBLIC_URL, CONSOLE_URL]
    .filter((url) => url !== undefined)
    .map((url) => new URL(url).hostname);
  return [HOST === "::1" ? "[::1]" : HOST, ...named].every(isLoopback);
}
