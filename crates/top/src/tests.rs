mod keys;
mod screen;
