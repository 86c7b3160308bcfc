import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { watch, realpathSync } from "node:fs";
import path from "node:path";
import { ROOT } from "../console-build/places.ts";
import { endpoints, type Endpoints, type GatewayJob } from "./messages.ts";
import { createServer } from "vite";
import { DEV_WALLET_MARK } from "../../transport/console-server/console-files.ts";
import { freePort } from "../free-port.ts";

/** Time for an editor to finish saving, ms. */
const QUIET_MS = 100;

/** Files whose change restarts the gateway. Vite reloads those of the console. */
const FOLDERS = ["src", "gen"];
const WATCHED = /^(?!console\/).*\.(?:ts|mjs|sql|json)$/;

export interface WatchOptions extends Pick<GatewayJob, "dataDir" | "movable"> {
  readonly environment: NodeJS.ProcessEnv;
  /** Receives one line per restart. */
  readonly log: (line: string) => void;
}

/** Runs the gateway in a process, again after each change. @throws Error when the first start fails */
export async function startWatchedGateway(
  options: WatchOptions,
): Promise<Endpoints & { close(): Promise<void> }> {
  const vite = await startVite(options.dataDir);
  const gateway = new GatewayProcess(options, vite.url);
  try {
    const first = await gateway.start();
    const stopWatching = onChange((file) => gateway.restart(file));
    const close = async () => {
      stopWatching();
      await gateway.stop();
      await vite.stop();
    };
    return { ...first, close };
  } catch (error) {
    await vite.stop();
    throw error;
  }
}

/** Calls `act` once per burst of changes. @returns a function that ends the watch */
function onChange(act: (file: string) => void): () => void {
  let quiet: NodeJS.Timeout | undefined;
  const watchers = FOLDERS.map((folder) =>
    watch(path.join(ROOT, folder), { recursive: true }, (_, file) => {
      if (file === null || !WATCHED.test(file)) return;
      clearTimeout(quiet);
      quiet = setTimeout(() => act(path.join(folder, file)), QUIET_MS);
    }),
  );
  return () => {
    clearTimeout(quiet);
    for (const watcher of watchers) watcher.close();
  };
}

class GatewayProcess {
  readonly #options: WatchOptions;
  readonly #viteUrl: string;
  #child: ChildProcess | undefined;
  /** Ports of the first start: addresses stay the same. */
  #ports: Record<string, string> = {};
  #restarting: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: WatchOptions, viteUrl: string) {
    this.#options = options;
    this.#viteUrl = viteUrl;
  }

  /** @throws Error when the process ends before it serves */
  async start(): Promise<Endpoints> {
    const { environment, dataDir, movable } = this.#options;
    const job: GatewayJob = { dataDir, movable, viteUrl: this.#viteUrl };
    // Out of reach of the terminal's Ctrl-C: the supervisor stops it.
    const child = fork(path.join(import.meta.dirname, "main.ts"), [JSON.stringify(job)], {
      env: { SHUTDOWN_GRACE_MS: "500", ...environment, ...this.#ports },
      detached: true,
    });
    this.#child = child;
    const message = await new Promise<unknown>((resolve, reject) => {
      child.once("message", resolve);
      child.once("error", reject);
      child.once("exit", (code) => reject(new Error(`the gateway exited with ${code}`)));
    });
    const served = endpoints.parse(message);
    this.#ports = { GRPC_PORT: portOf(`http://${served.grpcAddress}`) };
    if (!environment["PUBLIC_URL"]) this.#ports["PORT"] = portOf(served.baseUrl);
    return served;
  }

  restart(file: string): void {
    this.#restarting = this.#restarting.then(() => this.#restart(file));
  }

  async #restart(file: string): Promise<void> {
    const { log } = this.#options;
    if (this.#closed) return;
    const since = performance.now();
    await this.#end();
    try {
      await this.start();
      log(`${file} changed: restarted in ${Math.round(performance.now() - since)} ms`);
    } catch (error) {
      log(`${file} changed: ${error instanceof Error ? error.message : String(error)}, waits for a change`);
    }
  }

  async stop(): Promise<void> {
    this.#closed = true;
    await this.#restarting;
    await this.#end();
  }

  async #end(): Promise<void> {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, "exit");
    child.kill("SIGTERM");
    await exited;
  }
}

function portOf(url: string): string {
  return new URL(url).port;
}

const MODULES = path.join(ROOT, "node_modules");

/** Starts Vite's server. Browsers reach it through the gateway, and its WebSocket directly. */
async function startVite(dataDir: string): Promise<{ url: string; stop(): Promise<void> }> {
  const port = await freePort();
  const host = "127.0.0.1";
  const server = await createServer({
    configFile: path.join(ROOT, "src/dev/console-build/vite.config.ts"),
    cacheDir: path.join(dataDir, "vite"),
    plugins: [
      {
        name: "toolgate:dev-wallet",
        transformIndexHtml: (html) => html.replace("</head>", `${DEV_WALLET_MARK}</head>`),
      },
    ],
    server: {
      host,
      port,
      strictPort: true,
      hmr: { host, clientPort: port },
      fs: { allow: [ROOT, realpathSync(MODULES)] },
    },
  });
  await server.listen();
  return { url: `http://${host}:${port}`, stop: () => server.close() };
}
