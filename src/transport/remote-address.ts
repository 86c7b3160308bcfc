import { isIP } from "node:net";
import type { Log } from "../domain/core/log.ts";

export interface RemotePeer {
  /** Address of the connection's other end; undefined once it is closed. */
  readonly peer: string | undefined;
  /** X-Forwarded-For header or metadata as sent; repeats joined. */
  readonly forwardedFor: string | undefined;
}

/** An address with a port, as some proxies write it: `192.0.2.1:80`, `[2001:db8::1]:80`, `[2001:db8::1]`. */
const WITH_PORT = /^(?:\[([\da-f:.]+)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/i;

/** Longest entry that a proxy writes, characters. */
const LONGEST_ENTRY = 100;

/** IPv4-mapped IPv6 (RFC 4291 section 2.5.5.2), as dual-stack sockets report it. */
const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;

/**
 * Returns the client's address. Each trusted proxy appends its peer to X-Forwarded-For, so the client is the
 * entry that many places from the right; entries left of it may be forged. Falls back to the connection's
 * peer for missing or invalid entries.
 * @param trustedProxies number of proxies in front of this server that append to X-Forwarded-For
 */
function clientAddress({ peer, forwardedFor }: RemotePeer, trustedProxies: number): string {
  const written = forwardedFor?.slice(-LONGEST_ENTRY * trustedProxies);
  const entry = trustedProxies === 0 ? undefined : written?.split(",").at(-trustedProxies)?.trim();
  return (entry === undefined ? undefined : plainAddress(entry)) ?? plainAddress(peer ?? "") ?? "unknown";
}

/** Returns a client's rate limit key: IPv4 address, or IPv6 /64 prefix (RFC 4291 section 2.5.4). */
export function networkOf(address: string): string {
  return isIP(address) === 6 ? `${groupsOf(address).slice(0, 4).join(":")}::/64` : address;
}

/** Where clients are, as far as the proxies in front of this server are known. */
export class ClientAddresses {
  readonly #trustedProxies: number;
  #warn: (() => void) | undefined;

  /**
   * @param trustedProxies number of proxies in front of this server that append to X-Forwarded-For
   * @param log undefined: nothing is logged
   */
  constructor(trustedProxies: number, log?: Pick<Log, "warn">) {
    this.#trustedProxies = trustedProxies;
    this.#warn = () =>
      log?.warn(
        { setting: "TRUSTED_PROXY_HOPS" },
        "X-Forwarded-For is ignored; if a proxy sends it, set TRUSTED_PROXY_HOPS: all clients of the proxy " +
          "share the limits of its address",
      );
  }

  /** Returns address and rate limit key of a client. */
  of(peer: RemotePeer): { readonly address: string; readonly network: string } {
    if (peer.forwardedFor !== undefined && this.#trustedProxies === 0) {
      this.#warn?.();
      this.#warn = undefined;
    }
    const address = clientAddress(peer, this.#trustedProxies);
    return { address, network: networkOf(address) };
  }
}

function plainAddress(text: string): string | undefined {
  if (isIP(text) === 4) return text;
  const parts = WITH_PORT.exec(text);
  // Drops the zone of a link-local address.
  const [bare = ""] = (parts?.[1] ?? parts?.[2] ?? text).split("%");
  const address = MAPPED.exec(bare)?.[1] ?? bare;
  return isIP(address) === 0 ? undefined : address;
}

/** Returns the eight groups of an IPv6 address without leading zeros. */
function groupsOf(address: string): string[] {
  const [head = "", tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  return [...left, ...Array.from({ length: 8 - left.length - right.length }, () => "0"), ...right];
}
