import { existsSync } from "node:fs";
import path from "node:path";
import type { ServeConfig } from "../config/config.ts";
import type { Log } from "../domain/core/log.ts";
import { readBuiltFiles } from "../transport/console-server/built-files.ts";
import { isLoopback } from "../transport/http/origin-policy.ts";
import { ConsoleFiles, type ConsoleFilesOptions } from "../transport/console-server/console-files.ts";
import type { ConsoleOrigin } from "../transport/console-server/console-origin.ts";
import { tokenFromCookie } from "../transport/console-server/cookie.ts";
import { DevWallet } from "../transport/console-server/dev-wallet.ts";

/** Output folder of `npm run build:console`. */
const BUILT = path.resolve(import.meta.dirname, "../../dist/console");

export function isConsoleBuilt(): boolean {
  return existsSync(path.join(BUILT, "index.html"));
}

/** Additions of `dev` to the console. */
export interface DevConsole {
  /** Secret key of the development wallet. */
  readonly wallet: Uint8Array;
  /** Serves the sources instead of the built files. */
  readonly files?: ConsoleFilesOptions["devFiles"];
}

/** Returns the RPC server of the chain that `dev` started, which has the name of the public one. */
export function localRpcUrl(
  { SOLANA_RPC_URLS }: Pick<ServeConfig, "SOLANA_RPC_URLS">,
  devConsole: DevConsole | undefined,
): string | undefined {
  return devConsole && SOLANA_RPC_URLS[0];
}

export interface ConsoleFilesSettings {
  readonly config: Pick<ServeConfig, "HOST" | "PUBLIC_URL" | "CONSOLE_URL"> &
    Partial<Pick<ServeConfig, "CONSOLE_PUBLIC_TOOLS">>;
  readonly origin: ConsoleOrigin;
  /** Undefined in production. */
  readonly devConsole: DevConsole | undefined;
  readonly log: Log;
  readonly folder?: string;
}

/** Reads the built console; logs a warning when it is not built. */
export function openConsoleFiles(settings: ConsoleFilesSettings): ConsoleFiles {
  const { config, origin, devConsole, log, folder = BUILT } = settings;
  const files = readBuiltFiles(folder);
  if (!files && !devConsole?.files) log.warn({}, "console not built: run npm run build:console and restart");
  return new ConsoleFiles({
    files,
    https: () => origin.url.protocol === "https:",
    hasSession: (cookie) =>
      origin.cookie !== undefined && tokenFromCookie(cookie, origin.cookie) !== undefined,
    publicTools: config.CONSOLE_PUBLIC_TOOLS === "on",
    devFiles: devConsole?.files,
    devWallet: devConsole && isLocalOnly(config) ? new DevWallet(devConsole.wallet, origin) : undefined,
  });
}

/**
 * Returns whether no address leads here from another machine: remote visitors could read the development
 * wallet's key.
 */
function isLocalOnly({ HOST, PUBLIC_URL, CONSOLE_URL }: ConsoleFilesSettings["config"]): boolean {
  const named = [PUBLIC_URL, CONSOLE_URL]
    .filter((url) => url !== undefined)
    .map((url) => new URL(url).hostname);
  return [HOST === "::1" ? "[::1]" : HOST, ...named].every(isLoopback);
}
