import { ToolError } from './error.ts';

const MAX_DEPTH = 64;

/** A JSON value as JSON.parse makes it. */
export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue;
}

/** How many values of each JSON type there are. */
export interface Counts {
  objects: number;
  arrays: number;
  strings: number;
  numbers: number;
  booleans: number;
  nulls: number;
}

/** process_json_data. A ToolError says what in the data cannot be returned unchanged in every language. */
export function processJsonData({ data }: { data: JsonObject }) {
  const walk = new Walk();
  const upper = walk.object(data, 1);
  return { keys: Object.keys(data).sort(byCodePoint), data: upper, counts: walk.counts, depth: walk.depth };
}

class Walk {
  readonly counts: Counts = { objects: 0, arrays: 0, strings: 0, numbers: 0, booleans: 0, nulls: 0 };
  depth = 0;

  object(object: JsonObject, level: number): JsonObject {
    this.#enter(level);
    this.counts.objects++;
    const entries = Object.entries(object).map(([key, value]): [string, JsonValue] => {
      requireText(key);
      return [key, this.#value(value, level)];
    });
    // An assignment to __proto__ would set the prototype; fromEntries makes it a key like any other.
    return Object.fromEntries(entries);
  }

  #value(value: JsonValue, level: number): JsonValue {
    switch (typeof value) {
      case 'string':
        requireText(value);
        this.counts.strings++;
        return upperCaseAscii(value);
      case 'number':
        if (Math.abs(value) > Number.MAX_SAFE_INTEGER) {
          throw new ToolError(`data must not have a number beyond ±${Number.MAX_SAFE_INTEGER}`);
        }
        this.counts.numbers++;
        return value;
      case 'boolean':
        this.counts.booleans++;
        return value;
      default:
        if (value === null) {
          this.counts.nulls++;
          return null;
        }
        return Array.isArray(value) ? this.#array(value, level + 1) : this.object(value, level + 1);
    }
  }

  #array(array: JsonValue[], level: number): JsonValue[] {
    this.#enter(level);
    this.counts.arrays++;
    return array.map((value) => this.#value(value, level));
  }

  #enter(level: number): void {
    if (level > MAX_DEPTH) {
      throw new ToolError(`data must not be deeper than ${MAX_DEPTH} levels`);
    }
    this.depth = Math.max(this.depth, level);
  }
}

function requireText(value: string): void {
  if (!value.isWellFormed()) {
    throw new ToolError('data must not have a lone surrogate in a string or key');
  }
}

// Not toUpperCase on the whole: that would change ß, ı and é as well.
function upperCaseAscii(text: string): string {
  return text.replace(/[a-z]+/g, (letters) => letters.toUpperCase());
}

/**
 * Compares two strings by Unicode code point. The default order of sort is by UTF-16 code unit, which puts U+1F600
 * (a surrogate pair, from 0xD800) before U+FF5E.
 */
export function byCodePoint(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    if (a.charCodeAt(i) !== b.charCodeAt(i)) {
      // Where only the second halves of two pairs differ, they compare as the pairs do.
      return (a.codePointAt(i) ?? 0) - (b.codePointAt(i) ?? 0);
    }
  }
  return a.length - b.length;
}
