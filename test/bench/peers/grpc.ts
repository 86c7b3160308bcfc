import process from "node:process";
import { type handleUnaryCall, Server, ServerCredentials } from "@grpc/grpc-js";
import { CALL_TOOL_PATH, asIs } from "../grpc-call.ts";
import { print } from "./listen.ts";

// The least that any gRPC service on Node does: @grpc/grpc-js, bytes in, bytes out, nothing decoded.
// node test/bench/peers/grpc.ts <answer in base64>

const answer = Buffer.from(process.argv[2] ?? "", "base64");

const server = new Server();
const echo: handleUnaryCall<Buffer, Buffer> = (_, respond) => respond(null, answer);
server.register(CALL_TOOL_PATH, echo, asIs, asIs, "unary");
server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
  if (error) throw error;
  print(port);
});
