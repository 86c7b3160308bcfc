import type { Log } from "../../domain/core/log.ts";
import type { ImageFile } from "./image-file.ts";
import { frameLength, frameOf, Worker, type WorkerStart } from "./worker.ts";

type Start = Omit<WorkerStart, "input">;

/** A memory image has about 7 MiB, compressed. */
const MAX_IMAGE_BYTES = 33_554_432;

/** Failures to make or load an image before images are disabled; a busy machine may cause one. */
const MAX_FAILURES = 3;

/** Starts Python workers from a memory image, ten times faster. It is made once, which takes seconds. */
export class PythonStarter {
  readonly #log: Log;
  readonly #file: ImageFile;
  #image: Promise<Buffer | undefined> | undefined;
  #failures = 0;

  constructor(log: Log, file: ImageFile) {
    this.#log = log;
    this.#file = file;
  }

  /**
   * @param version of the programs that make the image
   * @throws Error as {@link Worker.start} does
   */
  async start(start: Start, folder: string, version: string, wheels: readonly Buffer[]): Promise<Worker> {
    const made = (this.#image ??= this.#open(start, folder, `${version} ${folder}`));
    const image = await made;
    if (image === undefined) {
      // Let the next caller try again.
      if (start.signal.aborted) this.#forget(made);
    } else {
      try {
        return await Worker.start({ ...start, input: inputOf(folder, wheels, image) });
      } catch (error) {
        if (start.signal.aborted) throw error;
        await this.#file.remove();
        this.#failed(made, error, "Python worker failed to start from its memory image; starting without it");
      }
    }
    return await Worker.start({ ...start, input: inputOf(folder, wheels, undefined) });
  }

  /** Reads the memory image, or makes it; undefined if that fails. */
  async #open(start: Start, folder: string, version: string): Promise<Buffer | undefined> {
    const kept = await this.#file.read(version);
    if (kept !== undefined) return kept;
    try {
      const maker = await Worker.start({ ...start, input: [frameOf({ folder, make: true })] });
      const image = await imageOf(maker);
      await this.#file.write(version, image);
      return image;
    } catch (error) {
      if (!start.signal.aborted)
        this.#failed(this.#image, error, "Python memory image could not be made; starting without it");
      return undefined;
    }
  }

  /** Logs a failure and retries next time, until there were too many. */
  #failed(image: Promise<Buffer | undefined> | undefined, error: unknown, sentence: string): void {
    if (image !== this.#image) return;
    this.#failures += 1;
    const last = this.#failures >= MAX_FAILURES;
    this.#log.warn({ err: error }, last ? `${sentence} from now on` : sentence);
    if (last) this.#image = Promise.resolve(undefined);
    else this.#forget(image);
  }

  #forget(image: Promise<Buffer | undefined> | undefined): void {
    if (image === this.#image) this.#image = undefined;
  }
}

function inputOf(folder: string, wheels: readonly Buffer[], image: Buffer | undefined): Buffer[] {
  // Passed without copying.
  const images = image === undefined ? [] : [frameLength(image), image];
  return [
    frameOf({ folder, wheels: wheels.length, image: image !== undefined }),
    ...images,
    ...wheels.map(frameOf),
  ];
}

/** Reads the image that a worker writes. */
async function imageOf(maker: Worker): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  maker.process.onStdout = (bytes) => {
    pieces.push(bytes);
    size += bytes.length;
    if (size > MAX_IMAGE_BYTES) maker.end();
  };
  maker.process.write(frameOf({}));
  const { code } = await maker.process.closed;
  const frame = Buffer.concat(pieces);
  const length = Number.parseInt(frame.subarray(0, 8).toString("latin1"), 16);
  if (code !== 0 || frame.length !== length + 8)
    throw new Error(`The image is not whole: ${frame.length} bytes, code ${code}.`);
  return frame.subarray(8);
}
