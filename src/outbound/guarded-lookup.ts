import { lookup as systemLookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { ForbiddenAddressError, mayConnect, networkFor, type Guard } from "./address-guard.ts";

/** Refuses a name as soon as one of its addresses is refused: whoever answers for such a name means no good. */
export function guardedLookup(guard: Guard): LookupFunction {
  const { lookup = systemLookup } = guard;
  return (hostname, options, callback) => {
    const network = networkFor(guard, hostname);
    lookup(hostname, options, (error, found, family) => {
      if (error) return callback(error, found, family);
      const addresses = typeof found === "string" ? [found] : found.map(({ address }) => address);
      if (addresses.every((address) => mayConnect(address, network))) return callback(null, found, family);
      return callback(new ForbiddenAddressError(hostname, network), found, family);
    });
  };
}

/**
 * The addresses of a host that connections may lead to, for clients that do not look names up themselves: who connects to one of these
 * connects to what was looked at.
 * @param host a name, or an address without brackets
 * @throws ForbiddenAddressError; Error when there is no such name
 */
export async function guardedAddresses(guard: Guard, host: string): Promise<string[]> {
  if (isIP(host) !== 0) {
    const network = networkFor(guard, host);
    if (!mayConnect(host, network)) throw new ForbiddenAddressError(host, network);
    return [host];
  }
  return new Promise((resolve, reject) => {
    guardedLookup(guard)(host, { all: true }, (error, found) => {
      if (error) reject(error);
      else resolve(typeof found === "string" ? [found] : found.map(({ address }) => address));
    });
  });
}
