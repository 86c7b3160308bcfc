/**
 * A model server in its own process; the model's name selects its behaviour (behaviours.ts). PUT
 * /control/<model> changes a behaviour; GET /control/seen returns the requests and the number of callers
 * that hung up early.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { z } from "zod";
import { BEHAVIOURS } from "./behaviours.ts";

const chatBody = z.looseObject({ model: z.string(), stream: z.boolean().default(false) });
const assigned = new Map<string, string>();
const asked: { headers: IncomingMessage["headers"]; body: z.output<typeof chatBody> }[] = [];
let hungUp = 0;

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const received = await text(request);
  const [, control, model = ""] = /^\/(control)\/(.*)$/.exec(request.url ?? "") ?? [];
  if (control && request.method === "PUT") {
    assigned.set(model, received);
    response.end();
    return;
  }
  if (control) {
    response.end(JSON.stringify({ asked, hungUp }));
    return;
  }
  const body = chatBody.parse(JSON.parse(received));
  asked.push({ headers: request.headers, body });
  response.once("close", () => (hungUp += response.writableFinished ? 0 : 1));
  const behaviour = BEHAVIOURS[assigned.get(body.model) ?? body.model];
  if (!behaviour) throw new RangeError(`there is no behaviour ${body.model}`);
  behaviour(response, { stream: body.stream, authorization: request.headers.authorization ?? "" });
}

const server = createServer((request, response) => void respond(request, response));
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object" && address) process.stdout.write(`http://127.0.0.1:${address.port}\n`);
});
process.stdin.once("end", () => process.exit(0)).resume();
