import { createServer, type Server } from "node:http";
import { MAINNET_GENESIS_HASH } from "./accounts.ts";
import { Controls } from "./controls.ts";
import { Chain } from "./engine.ts";
import { Faults } from "./faults.ts";
import { keepJournal } from "./journal.ts";
import { createHttpServer } from "./server.ts";
import { servePubSub } from "./websocket.ts";

export { USDC_DECIMALS, USDC_MINT } from "./accounts.ts";
export { USDC_AUTHORITY } from "./programs.ts";
export type { Chain } from "./engine.ts";
export type { Controls, WalletFunds } from "./controls.ts";
export type { Fault, FaultRule, Faults } from "./faults.ts";

export interface LocalChainOptions {
  /** Port of JSON-RPC over HTTP, 0 for a free one; the WebSocket is on the next. */
  readonly port?: number;
  readonly host?: "127.0.0.1";
  /** Folder that keeps the chain over a restart; without it the chain is gone when it is closed. */
  readonly dataDir?: string;
  /** Slot time, ms; with 0 only {@link Chain.advance} creates slots. */
  readonly slotMs?: number;
  readonly genesisHash?: string;
}

/** A running local chain, and everything a test may do to it. */
export interface LocalChain {
  readonly url: string;
  readonly wsUrl: string;
  readonly chain: Chain;
  /** Wallets, SOL and USDC. */
  readonly controls: Controls;
  /** Failures of the RPC endpoint, and how often it was called. */
  readonly faults: Faults;
  close(): Promise<void>;
}

/** Time from slot to slot on mainnet. */
const DEFAULT_SLOT_MS = 400;

/**
 * Starts a Solana chain in this process, with JSON-RPC and PubSub as a validator serves them and USDC where
 * mainnet has it. For development and tests: its money is worth nothing and its keys are public.
 *
 * @throws Error if a port is taken or the folder holds another chain
 */
export async function startLocalChain(options: LocalChainOptions = {}): Promise<LocalChain> {
  const { host = "127.0.0.1", slotMs = DEFAULT_SLOT_MS, dataDir } = options;
  const chain = new Chain(options.genesisHash ?? MAINNET_GENESIS_HASH);
  if (dataDir !== undefined) keepJournal(chain, dataDir, slotMs);
  const faults = new Faults();
  const http = createHttpServer(chain, faults);
  const pubSub = createServer((_request, response) => response.writeHead(426).end("WebSocket only"));
  const endPubSub = servePubSub(chain, pubSub);
  const port = await listenOnPair(http, pubSub, host, options.port ?? 0);
  const timer = slotMs > 0 ? setInterval(() => chain.advance(), slotMs) : undefined;
  return {
    url: `http://${host}:${port}`,
    wsUrl: `ws://${host}:${port + 1}`,
    chain,
    controls: new Controls(chain),
    faults,
    async close() {
      clearInterval(timer);
      endPubSub();
      http.closeAllConnections();
      await Promise.all([http, pubSub].map((server) => new Promise((resolve) => server.close(resolve))));
    },
  };
}

const ATTEMPTS = 50;

/**
 * Binds two servers to neighbouring ports: web3.js 1.x expects the WebSocket on the HTTP port + 1.
 *
 * @param port of the first server; 0 finds a free pair
 * @returns the first server's port
 * @throws Error if a port is taken
 */
async function listenOnPair(http: Server, webSocket: Server, host: string, port: number): Promise<number> {
  for (let attempt = 1; ; attempt++) {
    const first = await listen(http, host, port);
    try {
      if (first === 65_535) throw new Error("there is no port behind 65535");
      await listen(webSocket, host, first + 1);
      return first;
    } catch (error) {
      await new Promise((resolve) => http.close(resolve));
      if (port !== 0 || attempt === ATTEMPTS) throw error;
    }
  }
}

async function listen(server: Server, host: string, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
  const bound = server.address();
  if (bound === null || typeof bound === "string") throw new Error("the server listens on TCP");
  return bound.port;
}
