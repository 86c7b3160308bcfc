import { isIP } from "node:net";

/** What a door knows of where a request comes from. */
export interface RemotePeer {
  /** The other end of the connection; undefined once it is gone. */
  readonly peer: string | undefined;
  /** X-Forwarded-For, header or metadata, as sent; repeated ones joined. */
  readonly forwardedFor: string | undefined;
}

/** An address followed by a port, as some proxies write it: `192.0.2.1:80`, `[2001:db8::1]:80`, `[2001:db8::1]`. */
const WITH_PORT = /^(?:\[([\da-f:.]+)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/i;

/** Characters of an entry that a proxy writes; longer text before those is the client's. */
const LONGEST_ENTRY = 100;

/** An IPv4 address in IPv6 form (RFC 4291 section 2.5.5.2), as sockets that take both tell it. */
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/**
 * The client's address. Each trusted proxy appends the address that it was called from to X-Forwarded-For, so the client is the entry
 * that many places from the right; what stands left of it the client may have written itself, and is not looked at. With fewer
 * entries than proxies, or with something else than an address at that place, it is the other end of the connection.
 * @param trustedProxies how many proxies stand before this server and append to X-Forwarded-For
 */
export function clientAddress({ peer, forwardedFor }: RemotePeer, trustedProxies: number): string {
  const written = forwardedFor?.slice(-LONGEST_ENTRY * trustedProxies);
  const entry = trustedProxies === 0 ? undefined : written?.split(",").at(-trustedProxies)?.trim();
  return (entry === undefined ? undefined : plainAddress(entry)) ?? plainAddress(peer ?? "") ?? "unknown";
}

/** What one client has to itself: an IPv4 address, or the first 64 bits of an IPv6 address (RFC 4291 section 2.5.4). */
export function networkOf(address: string): string {
  return isIP(address) === 6 ? `${groupsOf(address).slice(0, 4).join(":")}::/64` : address;
}

function plainAddress(text: string): string | undefined {
  if (isIP(text) === 4) return text;
  const parts = WITH_PORT.exec(text);
  const [bare = ""] = (parts?.[1] ?? parts?.[2] ?? text).split("%"); // without the zone of a link-local address
  const address = MAPPED.exec(bare)?.[1] ?? bare;
  return isIP(address) === 0 ? undefined : address;
}

/** The eight groups of an IPv6 address, without leading zeros. */
function groupsOf(address: string): string[] {
  const [head = "", tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  return [...left, ...Array.from({ length: 8 - left.length - right.length }, () => "0"), ...right];
}
