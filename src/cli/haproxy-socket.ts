import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { CommandError } from "./command-error.ts";
import type { RouterMap } from "./router-maps.ts";

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
