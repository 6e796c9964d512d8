_initialized = False
