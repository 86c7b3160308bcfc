import type { OpenDevWorld } from "../dev/index.ts";
import type { DevWorldOptions } from "../dev/world.ts";
import { CommandError } from "./command-error.ts";

/** Opens a development world. @throws CommandError for errors the user can fix */
export async function openWorld(options: DevWorldOptions & { cell?: number }): Promise<OpenDevWorld> {
  const { DataDirInUseError, EmbeddedPostgresError, SchemaError, openDevWorld } =
    await import("../dev/index.ts");
  try {
    return await openDevWorld(options);
  } catch (error) {
    if (error instanceof DataDirInUseError || error instanceof EmbeddedPostgresError)
      throw new CommandError(error.message, { cause: error });
    if (error instanceof SchemaError) throw new CommandError(`${error.message}.`, { cause: error });
    throw error;
  }
}
