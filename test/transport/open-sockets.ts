import process from "node:process";

/** Returns the number of open TCP sockets of this process, both ends counted. */
export function openSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
}
