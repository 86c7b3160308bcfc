import { BlockList, isIP, type LookupFunction } from "node:net";

/** Networks a server may be in: "any" includes private networks, "public" excludes them. */
export type Network = "any" | "public";

export interface Guard {
  readonly network: Network;
  /** Host names, without brackets, that may resolve to private networks. */
  readonly allowHosts?: ReadonlySet<string>;
  /** Resolves names; defaults to the system resolver. */
  readonly lookup?: LookupFunction;
}

/** Returns the network this host may be in. */
export function networkFor({ network, allowHosts }: Guard, host: string): Network {
  return allowHosts?.has(host) ? "any" : network;
}

type Range = readonly [address: string, prefix: number];

/**
 * Blocked always: link-local addresses, where clouds serve credentials, and ranges that are no single host
 * (IANA special-purpose registries). The last entries are the metadata services of Alibaba, Azure, Oracle,
 * AWS, Google and Scaleway.
 */
const NEVER: readonly Range[] = [
  ["0.0.0.0", 8],
  ["169.254.0.0", 16],
  ["224.0.0.0", 4],
  ["255.255.255.255", 32],
  ["::", 128],
  ["fe80::", 10],
  ["ff00::", 8],
  ["100.100.100.200", 32],
  ["168.63.129.16", 32],
  ["192.0.0.192", 32],
  ["fd00:ec2::254", 128],
  ["fd20:ce::254", 128],
  ["fd00:c1::a9fe:a9fe", 128],
  ["fd00:42::42", 128],
];

/** Private networks and other addresses that are not on the Internet (RFC 6890). */
const PRIVATE: readonly Range[] = [
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["240.0.0.0", 4],
  ["2001::", 23],
  ["2001:db8::", 32],
  ["3fff::", 20],
];

/** IPv6 addresses on the Internet (RFC 4291 section 2.4), and those that stand for IPv4 addresses. */
const GLOBAL: readonly Range[] = [
  ["2000::", 3],
  ["64:ff9b::", 96],
  ["::ffff:0:0", 96],
];

const never = listOf(NEVER);
const notPublic = listOf([...NEVER, ...PRIVATE]);
const global = listOf(GLOBAL);

/** Returns whether an IP address is allowed; false for text that is not an address. */
export function mayConnect(address: string, network: Network): boolean {
  const [plain = ""] = address.split("%"); // without the zone of a link-local address
  const version = isIP(plain);
  if (version === 0) return false;
  const family = version === 4 ? "ipv4" : "ipv6";
  if (network === "public" && version === 6 && !global.check(plain, family)) return false;
  return !(network === "public" ? notPublic : never).check(plain, family);
}

/** Thrown instead of connecting to a forbidden address. */
export class ForbiddenAddressError extends Error {
  override name = "ForbiddenAddressError";

  constructor(host: string, network: Network) {
    super(
      `${host} resolves to a forbidden address${network === "public" ? " for the public network" : ""}: ` +
        "see the network setting",
    );
  }
}

/** Adds the IPv6 forms of each IPv4 range. BlockList handles IPv4-mapped addresses itself. */
function listOf(ranges: readonly Range[]): BlockList {
  const list = new BlockList();
  for (const [address, prefix] of ranges) {
    if (isIP(address) === 6) {
      list.addSubnet(address, prefix, "ipv6");
      continue;
    }
    list.addSubnet(address, prefix, "ipv4");
    list.addSubnet(`64:ff9b::${address}`, 96 + prefix, "ipv6"); // NAT64 (RFC 6052)
    list.addSubnet(`::ffff:0:${address}`, 96 + prefix, "ipv6"); // IPv4-translated (RFC 2765)
    list.addSubnet(`2002:${hexOf(address)}::`, 16 + prefix, "ipv6"); // 6to4 (RFC 3056)
    // IPv4-compatible (RFC 4291 section 2.5.5.1). Of 0.0.0.0/8 only ::, because ::1 is loopback.
    if (!address.startsWith("0.")) list.addSubnet(`::${address}`, 96 + prefix, "ipv6");
  }
  return list;
}

function hexOf(address: string): string {
  const bytes = Buffer.from(address.split(".").map(Number));
  return `${bytes.toString("hex", 0, 2)}:${bytes.toString("hex", 2, 4)}`;
}
