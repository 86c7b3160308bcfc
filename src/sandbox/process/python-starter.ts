import type { Logger } from "../../log.ts";
import { frameLength, frameOf, Worker, type WorkerStart } from "./worker.ts";

/** How a worker for Python is started, but for what it reads. */
type Start = Omit<WorkerStart, "input">;

/** Most that the memory of an interpreter may hold, bytes. It is about 30 MiB. */
const MOST_IMAGE_BYTES = 134_217_728;

/**
 * Starts workers for Python. The first interpreter that has started hands over its memory, and the others begin where it was, in a tenth of
 * the time. The image stays in this process: nobody else can put another in its place.
 */
export class PythonStarter {
  readonly #log: Logger;
  #image: Promise<Buffer | undefined> | undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** @throws Error as {@link Worker.start} does */
  async start(start: Start, folder: string, wheels: readonly Buffer[]): Promise<Worker> {
    this.#image ??= this.#make(start, folder);
    const image = await this.#image;
    if (image !== undefined) {
      try {
        return await Worker.start({ ...start, input: inputOf(folder, wheels, image) });
      } catch (error) {
        if (start.signal.aborted) throw error;
        this.#log.warn({ err: error }, "Python does not start from its image; from now on it starts without");
        this.#image = Promise.resolve(undefined);
      }
    }
    return await Worker.start({ ...start, input: inputOf(folder, wheels, undefined) });
  }

  /** The memory of an interpreter that has started; undefined when none can be had. */
  async #make(start: Start, folder: string): Promise<Buffer | undefined> {
    try {
      const maker = await Worker.start({ ...start, input: [frameOf({ folder, make: true })] });
      return await imageOf(maker);
    } catch (error) {
      // The next who asks tries again.
      if (start.signal.aborted) this.#image = undefined;
      else this.#log.warn({ err: error }, "Python gives no image of its memory; it starts without");
      return undefined;
    }
  }
}

function inputOf(folder: string, wheels: readonly Buffer[], image: Buffer | undefined): Buffer[] {
  // As it is, not copied for each worker.
  const images = image === undefined ? [] : [frameLength(image), image];
  return [frameOf({ folder, wheels: wheels.length, image: image !== undefined }), ...images, ...wheels.map(frameOf)];
}

/** Reads the one frame that a maker writes. */
async function imageOf(maker: Worker): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  maker.process.onStdout = (bytes) => {
    pieces.push(bytes);
    size += bytes.length;
    if (size > MOST_IMAGE_BYTES) maker.end();
  };
  maker.process.write(frameOf({}));
  const { code } = await maker.process.closed;
  const frame = Buffer.concat(pieces);
  const length = Number.parseInt(frame.subarray(0, 8).toString("latin1"), 16);
  if (code !== 0 || frame.length !== length + 8)
    throw new Error(`The image is not whole: ${frame.length} bytes, code ${code}.`);
  return Buffer.from(frame.subarray(8));
}
