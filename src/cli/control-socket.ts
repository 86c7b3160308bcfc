import { rmSync } from "node:fs";
import net from "node:net";
import process from "node:process";
import { text } from "node:stream/consumers";
import { ConfigError, readEnvironment, readServeConfig } from "../config/config.ts";
import type { Gateway } from "../gateway.ts";
import type { ProcessLog } from "../log.ts";
import { CommandError } from "./command.ts";

/** The only request. */
const RELOAD = "reload\n";

/** How long a client may take to send its request, ms. */
const REQUEST_MS = 5_000;

/**
 * Answers requests on a socket that only this user may open.
 * @param answer returns a line of JSON
 * @throws ConfigError when another process uses the socket or it cannot be created
 */
export async function openControlSocket(
  file: string,
  answer: () => Promise<object>,
): Promise<{ close(): void }> {
  if (await isServed(file)) throw new ConfigError([`CONTROL_SOCKET: another process serves ${file}`]);
  // A process that was killed leaves its socket.
  rmSync(file, { force: true });
  const server = net.createServer((client) => {
    client.setEncoding("utf8").setTimeout(REQUEST_MS, () => client.destroy());
    client.on("error", () => client.destroy());
    client.once("data", (request) => {
      client.setTimeout(0);
      if (String(request) === RELOAD) void answer().then((line) => client.end(`${JSON.stringify(line)}\n`));
      else client.destroy();
    });
  });
  await listen(server, file);
  server.unref();
  return { close: () => void server.close() };
}

/** Returns the answer of the process that serves the socket. @throws CommandError when there is none */
export async function requestReload(file: string): Promise<unknown> {
  const client = net.connect(file);
  client.write(RELOAD);
  try {
    return JSON.parse(await text(client));
  } catch (error) {
    throw new CommandError(`no gateway answers at ${file}; is it running? (${String(error)})`);
  }
}

async function listen(server: net.Server, file: string): Promise<void> {
  // The socket is created by listen() itself, so no other file gets this mask.
  const before = process.umask(0o177);
  const listening = new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(file, resolve);
  });
  process.umask(before);
  await listening.catch((error: unknown) => {
    throw new ConfigError([`CONTROL_SOCKET: ${file} cannot be created (${String(error)})`]);
  });
}

function isServed(file: string): Promise<boolean> {
  return new Promise((resolve) => {
    const client = net.connect(file);
    client.once("connect", () => {
      client.destroy();
      resolve(true);
    });
    client.once("error", () => resolve(false));
  });
}

/** Outcome of a reload, as `config reload` prints it. */
export interface ReloadReport {
  readonly ok: boolean;
  /** Why nothing was changed. */
  readonly problems: readonly string[];
  readonly changed: readonly string[];
  readonly need_restart: readonly string[];
  /** Version of the configuration in use; null when nothing was changed. */
  readonly version: number | null;
  readonly file_unused: string | null;
}

/** Reads the settings again and takes over those that need no restart: all of them or none. Never throws. */
export async function reloadSettings(
  gateway: Pick<Gateway, "reload">,
  log: ProcessLog,
): Promise<ReloadReport> {
  try {
    const next = readServeConfig(readEnvironment());
    const { changed, needRestart, version, unused = null } = await gateway.reload(next);
    log.setLevel(next.LOG_LEVEL);
    const level = needRestart.length > 0 ? "warn" : "info";
    log[level]({ changed, needRestart, version }, "settings reloaded");
    return { ok: true, problems: [], changed, need_restart: needRestart, version, file_unused: unused };
  } catch (error) {
    const problems = error instanceof ConfigError ? error.problems : ["the database cannot be used"];
    log.error(
      { problems, ...(!(error instanceof ConfigError) && { err: error }) },
      "settings not reloaded: nothing changed",
    );
    return { ok: false, problems, changed: [], need_restart: [], version: null, file_unused: null };
  }
}
