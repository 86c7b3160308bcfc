import { lookup as systemLookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { ForbiddenAddressError, mayConnect, networkFor, type Guard } from "./address-guard.ts";

/** Rejects a name as soon as one of its addresses is forbidden. */
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
 * Returns the allowed addresses of a host. Connect to these and not to the name, which may change.
 * @throws ForbiddenAddressError; Error when the name does not resolve
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
