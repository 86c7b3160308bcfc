import { syncBuiltinESMExports } from "node:module";
import net from "node:net";

/** What a process sees whose packets are dropped, without the wait. */
function connect() {
  const socket = new net.Socket();
  setTimeout(() => socket.destroy(Object.assign(new Error("connect EHOSTUNREACH"), { code: "EHOSTUNREACH" })), 50);
  return socket;
}

net.connect = connect;
net.createConnection = connect;
syncBuiltinESMExports();
