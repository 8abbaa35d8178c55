/**
 * Builds JSON Schema with TypeBox's types but without its code, which costs 10 MB and a quarter of the
 * start's CPU time. The service needs only functions that return plain schemas.
 */
import type { Type as TypeBox } from "typebox";

type Options = Record<string, unknown>;
type Schema = Options & { [isOptional]?: true };

/** Marks an optional field. A symbol does not appear in the schema's JSON. */
const isOptional = Symbol("optional");

const plain = (type: string) => (options?: Options) => ({ type, ...options });

function object(properties: Record<string, Schema>, options?: Options): Schema {
  const required = Object.keys(properties).filter((name) => !properties[name]?.[isOptional]);
  return { type: "object", ...(required.length > 0 && { required }), properties, ...options };
}

const functions = {
  Array: (items: Schema, options?: Options) => ({ type: "array", items, ...options }),
  Boolean: plain("boolean"),
  Enum: (values: readonly unknown[], options?: Options) => ({ type: "string", enum: values, ...options }),
  Integer: plain("integer"),
  Literal: (value: string) => ({ type: "string", const: value }),
  Null: plain("null"),
  Number: plain("number"),
  Object: object,
  Optional: (schema: Schema) => ({ ...schema, [isOptional]: true }),
  Partial: ({ required: _, ...schema }: Schema, options?: Options) => ({ ...schema, ...options }),
  Ref: ($ref: string) => ({ $ref }),
  String: plain("string"),
  Union: (anyOf: readonly Schema[], options?: Options) => ({ anyOf, ...options }),
  Unknown: (options?: Options) => ({ ...options }),
};

export const Type = functions as unknown as Pick<typeof TypeBox, keyof typeof functions>;
