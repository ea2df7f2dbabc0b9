"""What two people approve: exceptions, BreakGlasses, wider profiles and narrower stores."""
