import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { InvalidArgumentError, type Command } from "commander";
import type { OpenCell } from "../postgres/cells/open-cells.ts";
import { CommandError, outputFor } from "./command.ts";
import { formatMap, keyExceptions, parseMap, shareBuckets, walletExceptions } from "./router-maps.ts";
import type { RouterMap } from "./router-maps.ts";
import { onCells } from "./database.ts";

/** Lines per command: HAProxy takes a payload of one buffer, 16 KiB. */
const LINES = 100;

/**
 * Replaces a map of a running HAProxy at once, through its Runtime API (management guide, "prepare map").
 * @param file the map's path, as its configuration names it
 * @throws CommandError when HAProxy refuses
 */
export async function replaceMap(socket: string, file: string, map: RouterMap): Promise<void> {
  const prepared = await command(socket, `prepare map ${file}`);
  const [, version] = /New version created: (\d+)/.exec(prepared) ?? [];
  if (version === undefined) throw new CommandError(`HAProxy at ${socket}: ${prepared.trim()}`);
  const lines = [...map].map(([key, cell]) => `${key} ${cell}`);
  for (let at = 0; at < lines.length; at += LINES)
    await done(socket, `add map @${version} ${file} <<\n${lines.slice(at, at + LINES).join("\n")}\n`);
  await done(socket, `commit map @${version} ${file}`);
}

async function done(socket: string, line: string): Promise<void> {
  const answer = (await command(socket, line)).trim();
  if (answer !== "") throw new CommandError(`HAProxy at ${socket}: ${answer}`);
}

async function command(path: string, line: string): Promise<string> {
  const socket = connect(path);
  try {
    await once(socket, "connect");
    socket.end(`${line}\n`);
    return await text(socket);
  } catch (error) {
    throw new CommandError(`HAProxy at ${path} cannot be reached: set a stats socket of level admin`, {
      cause: error,
    });
  } finally {
    socket.destroy();
  }
}

interface MapsOptions {
  readonly dir: string;
  readonly weights?: ReadonlyMap<number, number>;
  readonly socket?: string;
  readonly json?: boolean;
}

const COMMENTS = {
  "buckets.map":
    "Where callers without a name go, new wallets included: bucket (hash of the wallet or address), cell.",
  "wallets.map": "Wallets whose account is in another cell than their bucket's: address, cell.",
  "keys.map": "Keys that another cell issued: SHA-256, cell of their account.",
} as const;

/** `cells maps` */
export function addMapsCommand(cells: Command): void {
  cells
    .command("maps")
    .description("writes the router's maps: which cell has moved keys and wallets, and where new wallets go")
    .requiredOption("--dir <folder>", "folder of the maps, as the router's configuration names it")
    .option("--weights <list>", "share of new wallets, such as 1=1,2=1,3=0 to send none to cell 3", weights)
    .option("--socket <path>", "Runtime API of a running HAProxy, which takes the maps at once")
    .option("--json", "print JSON")
    .action((options: MapsOptions) => onCells((opened) => writeMaps(opened, options)));
}

async function writeMaps(cells: readonly OpenCell[], options: MapsOptions): Promise<void> {
  const { dir, socket, json = false } = options;
  const routes = await Promise.all(
    cells.map(async ({ number, routes: read }) => ({
      cell: number,
      wallets: await read.wallets(),
      movedKeys: await read.movedKeys(),
    })),
  );
  const numbers = new Set(cells.map(({ number }) => number));
  const unknown = [...(options.weights?.keys() ?? [])].filter((cell) => !numbers.has(cell));
  if (unknown.length > 0)
    throw new CommandError(`--weights: CELL_DATABASE_URLS has no cell ${unknown.join(", ")}.`);
  const current = parseMap(await readFile(path.join(dir, "buckets.map"), "utf8").catch(() => ""));
  const even = new Map([...numbers].map((cell) => [cell, 1]));
  const share = options.weights ?? (current.size === 0 ? even : undefined);
  const buckets = share ? shareBuckets(current, share) : current;
  const maps: Record<keyof typeof COMMENTS, RouterMap> = {
    "buckets.map": buckets,
    "wallets.map": walletExceptions(buckets, routes),
    "keys.map": keyExceptions(routes),
  };
  for (const name of ["buckets.map", "wallets.map", "keys.map"] as const) {
    const file = path.join(dir, name);
    await writeFile(`${file}.new`, formatMap(COMMENTS[name], maps[name]));
    await rename(`${file}.new`, file);
    if (socket !== undefined) await replaceMap(socket, file, maps[name]);
  }
  outputFor(json).record({
    keys: maps["keys.map"].size,
    wallets: maps["wallets.map"].size,
    ...Object.fromEntries(
      [...numbers].map((cell) => [
        `buckets_${cell}`,
        [...buckets.values()].filter((one) => one === cell).length,
      ]),
    ),
  });
  if (socket === undefined && !json)
    process.stderr.write("Reload the router, or repeat this with --socket.\n");
}

function weights(text: string): ReadonlyMap<number, number> {
  const pairs = text.split(",").map((pair) => /^(\d{1,5})=(\d{1,4})$/.exec(pair.trim()));
  const shares = new Map(pairs.map((pair) => [Number(pair?.[1]), Number(pair?.[2])]));
  if (pairs.every((pair) => pair !== null) && [...shares.values()].some((weight) => weight > 0))
    return shares;
  throw new InvalidArgumentError("must be shares by cell, such as 1=1,2=1,3=0, one of them above 0");
}
